# veRL's own image (vLLM 0.24, torch 2.11, flash-attn 2.8.3, CUDA 13.0), with madrl. Not built in CI, and not run on a GPU yet.
#   docker build -t madrl-gpu -f docker/gpu.Dockerfile .                   (or podman)
#   docker run --rm --gpus all --shm-size 10g -v ./outputs:/opt/madrl/outputs madrl-gpu bash recipes/gsm8k_peak_rkl.sh
# BASE is the image that veRL's own tests of 0.9 run in; its docker/README.md says which there are.
ARG BASE=docker.io/verlai/verl:vllm024.dev2
FROM ${BASE}

WORKDIR /opt/madrl
ENV STACK=gpu PIP_NO_CACHE_DIR=1 PATH=/opt/madrl/.venv-gpu/bin:$PATH
COPY . .
# The recipes' environment sees the image's packages: only what the image lacks, or has too old, is installed into it.
RUN python3 -m venv --without-pip --system-site-packages .venv-gpu && bash recipes/lib/install.sh

CMD ["madrl", "doctor"]
