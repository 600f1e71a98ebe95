"""What several commands do with the ports, in order: state, lease, gathering, the steps of a promotion."""
