# Stages one role's files and hands them over, with nothing but the AWS CLI and PowerShell 5.1 or later.
#
# Folder holds the files at their public keys (python\3.14.0\...) and nothing else; COMMIT and SHA256SUMS
# are written into it. Run it again after an interruption: until the last upload nothing counts.
param(
    [Parameter(Mandatory)] [string] $Release,
    [Parameter(Mandatory)] [string] $Role,
    [Parameter(Mandatory)] [string] $Commit,
    [Parameter(Mandatory)] [string] $Bucket,
    [Parameter(Mandatory)] [string] $Folder
)
$ErrorActionPreference = 'Stop'
$target = "s3://$Bucket/$Role/$Release/"
$root = (Resolve-Path -LiteralPath $Folder).Path.TrimEnd('\', '/')
$sums = Join-Path $root 'SHA256SUMS'
# UTF-8 without a byte order mark. Out-File, Set-Content and > write UTF-16 or a mark in Windows PowerShell.
$utf8 = [Text.UTF8Encoding]::new($false)

# One request for each file, up to 5 GB: only so does the store keep the SHA-256 of the whole file.
aws configure set s3.multipart_threshold 5GB
if ($LASTEXITCODE) { throw "aws configure ended with status $LASTEXITCODE" }

[IO.File]::WriteAllText((Join-Path $root 'COMMIT'), "$Commit`n", $utf8)
$lines = foreach ($file in Get-ChildItem -LiteralPath $root -Recurse -File) {
    if ($file.FullName -ne $sums) {
        $name = $file.FullName.Substring($root.Length + 1).Replace('\', '/')
        $hash = (Get-FileHash -Algorithm SHA256 -LiteralPath $file.FullName).Hash
        "$hash  $name`n"
    }
}
[IO.File]::WriteAllText($sums, (-join $lines), $utf8)

aws s3 cp --recursive --exclude SHA256SUMS --checksum-algorithm SHA256 --only-show-errors $root $target
if ($LASTEXITCODE) { throw "the upload ended with status $LASTEXITCODE; nothing was handed over" }
# Last: "complete, and these are the bytes".
aws s3 cp --checksum-algorithm SHA256 --only-show-errors $sums "${target}SHA256SUMS"
if ($LASTEXITCODE) { throw "the hand-over ended with status $LASTEXITCODE" }
