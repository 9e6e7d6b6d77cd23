# One image for everything of Holdpoint: what it runs is said by its argument,
#   services/<name>/dist/src/main.js, or deploy/provision/dist/src/{provision,secrets}.main.js
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
RUN npm install --global pnpm@12.4.2
WORKDIR /src
COPY . .
RUN pnpm install --frozen-lockfile --no-optional && pnpm exec tsc -b && node tools/image.mjs /app

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
# root's, so that no process in it can change what it runs
COPY --from=build /app /app
USER 10001:10001
ENTRYPOINT ["node"]
