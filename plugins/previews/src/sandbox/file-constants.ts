/**
 * Loaded in each thread of the sandbox before its program. The WebAssembly build of sharp asks for these constants by an old function of
 * Node, which `--permission` refuses.
 */
import { constants } from 'node:fs'

Object.assign(process, { binding: () => ({ fs: constants }) })
