# Assay with its page and PostgreSQL, made of this copy of the repository; compose.yaml shows its use.
#   docker build -t assay . && docker run --rm assay --help
FROM python:3.13-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY constraints.txt /
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip install --no-cache-dir --find-links /wheels -c /constraints.txt "assay-eval[web,postgres]"
RUN useradd --create-home --uid 1000 assay && install -d -o assay -g assay /data /config
USER assay
WORKDIR /data
# Where campaigns are kept, and what their owner has confirmed to be read again: mount a volume on each.
ENV ASSAY_STORAGE=sqlite:////data/assay.db ASSAY_CONFIG_HOME=/config PYTHONUNBUFFERED=1
VOLUME ["/data", "/config"]
ENTRYPOINT ["assay"]
CMD ["--help"]
