/**
 * Loaded into a sandbox process before its own code. Each time before the sandbox waits for input, this writes one line of
 * JSON to descriptor 9: the calls since the last line.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { CallCounter } from './coverage.ts'

const counter = new CallCounter()
const { readSync } = fs
fs.readSync = ((...args: Parameters<typeof readSync>) => {
  if (args[0] === 0) fs.writeSync(9, `${JSON.stringify([...counter.take()])}\n`)
  return readSync(...args)
}) as typeof readSync
syncBuiltinESMExports()
