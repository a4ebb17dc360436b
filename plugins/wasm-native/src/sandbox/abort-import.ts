import { type Imports, Memory } from './web-assembly.ts'

/** Thrown by `env.abort`. */
export class Aborted extends Error {}

/** Characters of a text in a message. */
const longest = 500

/**
 * The only import: AssemblyScript calls it where other languages trap. Its texts are UTF-16 in the module's memory, with
 * their length in bytes in the four bytes before them.
 *
 * @see https://www.assemblyscript.org/runtime.html#memory-layout
 * @param memory returns the module's exported memory, once there is an instance
 */
export function abortImport(memory: () => unknown): Imports {
  const abort = (message: unknown, file: unknown, line: unknown, column: unknown) => {
    const bytes = memoryBytes(memory())
    const said = textAt(bytes, message) || 'no message'
    const where = textAt(bytes, file)
    throw new Aborted(where === '' ? said : `${said} (${where}:${Number(line)}:${Number(column)})`)
  }
  return { env: { abort } }
}

function memoryBytes(memory: unknown): Buffer {
  return memory instanceof Memory ? Buffer.from(memory.buffer) : Buffer.alloc(0)
}

function textAt(bytes: Buffer, pointer: unknown): string {
  const start = typeof pointer === 'number' ? pointer >>> 0 : 0
  if (start < 4 || start > bytes.length) return ''
  const length = Math.min(bytes.readUInt32LE(start - 4), longest * 2, bytes.length - start)
  return bytes.toString('utf16le', start, start + length)
}
