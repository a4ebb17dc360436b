#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const runtime = new URL('../../../runtime.js', import.meta.url)
const isCheckout = !existsSync(new URL('../dist/', import.meta.url)) && existsSync(runtime)

// A checkout has sources only. It runs them with the Node that it pins.
if (isCheckout && !process.execArgv.includes('--conditions=nodekeep-source')) {
  process.argv.splice(2, 0, fileURLToPath(import.meta.url))
  await import(runtime.href)
} else if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `nodekeep-sync needs Node 24 or newer; this is ${process.version}. See https://nodejs.org/download.`,
  )
  process.exit(1)
} else {
  const { run } = await import('#sync-command')
  await run(process.argv.slice(2))
}
