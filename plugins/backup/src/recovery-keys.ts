import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { CommandContext } from '@nodekeep/plugin-sdk'

/**
 * The recovery keys that a person gives to a command with `--key <file>`; `-` is the standard input. None without the option:
 * the command then says whether it needs one.
 *
 * @throws Error that names the file
 */
export async function identitiesOf({ options }: Pick<CommandContext, 'options'>): Promise<string[]> {
  const { key } = options
  if (typeof key !== 'string') return []
  try {
    return [key === '-' ? await text(process.stdin) : await readFile(key, 'utf8')]
  } catch (error) {
    throw new Error(`${problemWith(key, error)} Give the file with the recovery key: --key FILE`, {
      cause: error,
    })
  }
}

/** How a command reads a backup. */
interface Reading {
  readonly identities: readonly string[]
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
}

/**
 * Reads a backup with the recovery keys of a command, and shows the progress.
 *
 * @param label what the command does meanwhile
 * @param given the keys, if the command has them already
 * @throws as {@link identitiesOf} and `read` do
 */
export async function readWithKeys<T>(
  context: Pick<CommandContext, 'options' | 'output' | 'signal'>,
  label: string,
  read: (reading: Reading) => Promise<T>,
  given?: readonly string[],
): Promise<T> {
  const identities = given ?? (await identitiesOf(context))
  const progress = context.output.progress(label)
  try {
    const onProgress = (share: number) => progress.update(share)
    return await read({ identities, signal: context.signal, onProgress })
  } finally {
    progress.end()
  }
}

function problemWith(file: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return `There is no file ${file}.`
  if (code === 'EISDIR') return `${file} is a folder.`
  return `The file ${file} cannot be read (${code}).`
}
