import { fileURLToPath } from 'node:url'

/** The absolute path of the program `nodekeep` of this kernel. */
export const nodeProgram = fileURLToPath(new URL('../../bin/nodekeep.js', import.meta.url))
