#!/usr/bin/env node
import { chmodSync, mkdirSync } from 'node:fs'
// By name it would end an older Node, which lacks the function, before it can be told so.
import * as module from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `Nodekeep needs Node 24 or newer; this is ${process.version}. See https://nodejs.org/download.`,
  )
  process.exit(1)
}

// Compiled code of the libraries is kept between starts, which saves a good part of each. Node's own choice would be
// the system's temporary folder, where others could put code of theirs.
const cache = privateFolder()
if (cache !== null) {
  module.enableCompileCache(cache)
  // So do the threads of plugins, each of which would compile (and from sources first read TypeScript) by itself.
  process.env.NODE_COMPILE_CACHE ??= cache
}
const { run } = await import('#command-line')
await run(process.argv.slice(2))

/** A folder that nobody else can write to, whatever the umask; `null` for a user without a home. */
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
