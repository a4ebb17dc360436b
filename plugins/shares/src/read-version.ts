import { conflict, type FileReading } from '@nodekeep/plugin-sdk'

/**
 * Yields the content of a file in one version.
 *
 * @param open opens the file when the first chunk is requested
 * @throws NodekeepError CONFLICT, before its first chunk, if the file has changed meanwhile; what `open` throws
 */
export async function* readVersion(
  revision: string,
  open: () => Promise<FileReading>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reading = await open()
  if (reading.entry.revision !== revision) {
    await closeReading(reading)
    throw conflict('The file was changed meanwhile. Try again.')
  }
  yield* reading.content
}

/** Closes a file without reading it. Its reading alone closes it. */
export async function closeReading({ content }: FileReading): Promise<void> {
  for await (const _chunk of content) break
}
