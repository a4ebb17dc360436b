#!/usr/bin/env node
import { chmodSync, mkdirSync } from 'node:fs'
// A named import would fail in an older Node before the message about its version is printed.
import * as module from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `Nodekeep needs Node 24 or newer; this is ${process.version}. See https://nodejs.org/download.`,
  )
  process.exit(1)
}

// Node caches compiled code in a private folder, which makes later starts faster. Its default is the system's temporary
// folder, where other users could place their own code.
const cache = privateFolder()
if (cache !== null) {
  module.enableCompileCache(cache)
  // Threads and processes of plugins use the same cache. Otherwise each would compile everything again.
  process.env.NODE_COMPILE_CACHE ??= cache
}
const { run } = await import('#command-line')
await run(process.argv.slice(2))

/** Returns a folder that only this user can write to, whatever the umask; `null` for a user without a home folder. */
function privateFolder() {
  const { XDG_CACHE_HOME: given = '' } = process.env
  try {
    const folder = join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'nodekeep')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
    return folder
  } catch {
    return null
  }
}
