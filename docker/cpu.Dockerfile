# The quickstart without a GPU, as a container image. Not built in CI.
#   docker build -t madrl-cpu -f docker/cpu.Dockerfile .                   (or podman; 4 GB)
#   docker run --rm --shm-size 2g -v ./outputs:/opt/madrl/outputs madrl-cpu
#   docker run --rm --shm-size 2g -v ./outputs:/opt/madrl/outputs madrl-cpu madrl run synthetic_open uniform fkl profile=tiny
FROM docker.io/library/debian:bookworm-slim

# Debian's security updates are wanted, so no version is named. tini is process 1: it reaps what Ray leaves.
# hadolint ignore=DL3008
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ca-certificates python3 python3-venv tini \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/madrl
ENV STACK=cpu PIP_NO_CACHE_DIR=1 PATH=/opt/madrl/.venv/bin:$PATH
COPY . .
RUN bash recipes/lib/install.sh

ENTRYPOINT ["tini", "-g", "--"]
CMD ["bash", "recipes/quickstart.sh"]
