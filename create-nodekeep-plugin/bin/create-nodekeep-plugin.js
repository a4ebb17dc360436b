#!/usr/bin/env node
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `create-nodekeep-plugin: Plugins need Node 24 or newer; this is ${process.version}. See https://nodejs.org/download.`,
  )
  process.exit(1)
}
const { run } = await import('create-nodekeep-plugin')
await run(process.argv.slice(2))
