#!/bin/sh
# Stages one role's files and hands them over, with nothing but the AWS CLI and sha256sum.
#
#   handover.sh RELEASE ROLE COMMIT BUCKET FOLDER
#
# FOLDER holds the files at their public keys (python/3.14.0/...) and nothing else; COMMIT and SHA256SUMS
# are written into it. Run it again after an interruption: until the last line nothing counts.
set -eu
release=$1 role=$2 commit=$3 bucket=$4 folder=$5
target="s3://$bucket/$role/$release/"

# One request for each file, up to 5 GB: only so does the store keep the SHA-256 of the whole file.
aws configure set s3.multipart_threshold 5GB

cd "$folder"
printf '%s\n' "$commit" > COMMIT
# macOS has shasum.
if command -v sha256sum > /dev/null; then sum=sha256sum; else sum='shasum -a 256'; fi
# $sum may be several words.
find . -type f ! -path ./SHA256SUMS -print0 | sort -z | xargs -0 $sum > SHA256SUMS

aws s3 cp --recursive --exclude SHA256SUMS --checksum-algorithm SHA256 --only-show-errors . "$target"
# Last: "complete, and these are the bytes".
aws s3 cp --checksum-algorithm SHA256 --only-show-errors SHA256SUMS "${target}SHA256SUMS"
