"""The world of the publish gate: two buckets, the gated site, and a role for everybody who takes part."""

import pulumi

from access import make_roles
from buckets import PrivateBucket, expire_builders, expire_pending, put_fixed_page
from cdn import GatedSite
from config import StackConfig
from notices import Notices
from policies import World, make_public_bucket_policy, make_staging_bucket_policy
from settings import Made, choose_base_url, write_settings

config = StackConfig.load()

# What builders deliver, what the release manager adds, and the publisher's state.
staging = PrivateBucket(
    "staging",
    bucket_name=config.name_bucket("staging"),
    lifecycle=expire_builders(
        [role.name for role in config.roles if role.duty == "delivers"],
        days=config.staging_days,
        noncurrent_days=config.staging_noncurrent_days,
    ),
)
staging.attach_policy(
    "staging-policy", pulumi.Output.json_dumps(staging.arn.apply(make_staging_bucket_policy))
)

# What the world downloads, and what is about to be: one bucket, so that no byte moves at go-live.
public = PrivateBucket(
    "public", bucket_name=config.name_bucket("public"), lifecycle=expire_pending(config.pending_days)
)
put_fixed_page(public, error_ttl_seconds=config.error_ttl_seconds)

# Who hears of hand-overs, holds and promotions: nobody, unless the stack names somebody.
if config.surroundings.notify:
    Notices("notices", config=config, bucket=staging)

# The only way to the public bucket.
site = GatedSite("site", config=config, bucket=public)
world = pulumi.Output.all(
    staging=staging.arn, public=public.arn, distribution=site.distribution_arn, store=site.store_arn
).apply(lambda arns: World(**arns))
public.attach_policy(
    "public-policy",
    pulumi.Output.json_dumps(
        world.apply(
            lambda arns: make_public_bucket_policy(
                arns.public, arns.distribution, create_only=config.enforce_create_only
            )
        )
    ),
)

# Everybody who takes part, each with no more than the part needs.
roles = make_roles(config, world)

made = pulumi.Output.all(
    distribution_id=site.distribution_id, kvs_arn=site.store_arn, cdn_url=site.cdn_url
).apply(lambda values: Made(**values))

pulumi.export("stagingBucket", staging.bucket_name)
pulumi.export("publicBucket", public.bucket_name)
pulumi.export("distributionId", site.distribution_id)
pulumi.export("kvsArn", site.store_arn)
pulumi.export("cdnUrl", site.cdn_url)
pulumi.export("publicBaseUrl", site.cdn_url.apply(lambda url: choose_base_url(config, url)))
pulumi.export("roleArns", {name: role.arn for name, role in roles.items()})
pulumi.export("publisherToml", made.apply(lambda values: write_settings(config, values)))
