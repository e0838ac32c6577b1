# The monitor as a static program and nothing else: no shell, no libc, not root.
#   docker build -t isowatch/isowatch:1.2.3 .
#   docker run -p 127.0.0.1:8080:8080 -v isowatch:/var/lib/isowatch isowatch/isowatch:1.2.3
ARG GO_VERSION=1.26
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git: the program tells which version and revision it was built from.
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -ldflags "-s -w" \
      -o /out/monitor ./cmd/monitor \
 && mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/monitor /usr/local/bin/monitor
COPY --from=build --chown=65532:65532 /out/data /var/lib/isowatch
COPY --from=build --chown=65532:65532 --chmod=1777 /out/data /tmp
ENV PATH=/usr/local/bin
USER 65532:65532
VOLUME /var/lib/isowatch
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["monitor"]
CMD ["run", "--data", "/var/lib/isowatch", "--http", "0.0.0.0:8080"]
