/** Runs a test file in this process, as if it were the program: `alone-program.ts FILE`. */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import tap from 'tap'
import { root } from './command.ts'
import './teardown-order.ts'

const file = process.argv[2] ?? ''
const path = resolve(root, file)
process.argv.splice(1, 2, path)
tap.testdirName = join(root, '.tap/fixtures', file.replaceAll('/', '-'))
await import(pathToFileURL(path).href)
