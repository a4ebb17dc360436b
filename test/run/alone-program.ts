/** Runs a test file in this process, as if it were the program: `alone-program.ts FILE`. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import tap from 'tap'
import { root } from './command.ts'
import { placeFolders } from './test-folders.ts'

const file = process.argv[2] ?? ''
const path = resolve(root, file)
process.argv.splice(1, 2, path)
process.once('exit', placeFolders(tap, file))
await import(pathToFileURL(path).href)
