# palaver in a container; docs/docker.md shows how to run it.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY docs/man docs/man
COPY schema schema
COPY src src
RUN python -m venv /opt/palaver \
    && /opt/palaver/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt .

FROM python:3.13-slim
COPY --from=build /opt/palaver /opt/palaver
# HOME is where the stores of assistants are mounted, whichever user the container runs as.
ENV PATH="/opt/palaver/bin:$PATH" \
    HOME=/home/palaver \
    PALAVER_HOME=/data \
    PYTHONDONTWRITEBYTECODE=1
RUN useradd --uid 1000 --home-dir /home/palaver --create-home palaver \
    && mkdir /data \
    && chown palaver:palaver /data
VOLUME /data
USER palaver
WORKDIR /home/palaver
ENTRYPOINT ["palaver"]
CMD ["--help"]
