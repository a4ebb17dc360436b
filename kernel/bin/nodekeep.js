#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

// Compiled code of the libraries is kept between starts, which saves a good part of each. Node's own choice would be
// the system's temporary folder, where others could put code of theirs.
enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'nodekeep'))
const { run } = await import('#command-line')
await run(process.argv.slice(2))
