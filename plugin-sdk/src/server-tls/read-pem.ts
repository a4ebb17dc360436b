import { readFile } from 'node:fs/promises'

/** Reasons of the system in words. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: "cannot be read by the node's account",
}

/**
 * Reads a PEM file.
 *
 * @throws Error with a sentence for people if the file cannot be read
 */
export async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException
    throw new Error(`${file} ${reasons[code] ?? `cannot be read: ${message}`}.`, { cause })
  }
}
