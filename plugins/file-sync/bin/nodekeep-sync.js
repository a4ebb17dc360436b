#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const runtime = new URL('../../../runtime.js', import.meta.url)
const isCheckout = !existsSync(new URL('../dist/', import.meta.url)) && existsSync(runtime)

// A checkout has sources only. It runs them with the Node that it pins.
if (isCheckout && !process.execArgv.includes('--conditions=nodekeep-source')) {
  process.argv.splice(2, 0, fileURLToPath(import.meta.url))
  await import(runtime.href)
} else {
  const { start } = await import('#sync-command')
  await start(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')))
}
