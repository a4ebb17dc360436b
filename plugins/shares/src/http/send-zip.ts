import { finished } from 'node:stream'
import { clientSignal, isNodekeepError, NodekeepError, nameOf } from '@nodekeep/plugin-sdk'
import { sendArchive } from '@nodekeep/plugin-sdk/stored-content'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply } from 'fastify'
import type { Place, Places } from '../guests/places.ts'
import type { SharedFiles } from '../guests/shared-files.ts'
import type { Share } from '../share.ts'

/** Entries of an archive. */
const mostEntries = 20_000

/** Characters of all their names: they stay in memory until the archive ends. */
const mostCharacters = 2 * 1024 * 1024

/** The file in the archive that tells which pictures it lacks. */
const listOfMissing = 'Left out.txt'

/** The range of the MS-DOS times in a ZIP archive, which have 7 bits for the year (APPNOTE.TXT, section 4.4.6). */
const earliestZipTime = new Date(1980, 0, 1)
const latestZipTime = new Date(2107, 11, 31, 23, 59, 58)

interface ZipServices {
  readonly places: Places
  readonly files: SharedFiles
}

interface ZipEntry {
  /** The path below the shared folder. */
  readonly below: string
  readonly type: 'file' | 'directory'
  readonly modified: Date
}

/** The folder of an archive. */
interface ZipFolder {
  readonly name: string
  /** The path of it below the shared folder. */
  readonly below: string
  readonly entries: readonly ZipEntry[]
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
}

/**
 * Sends a folder of a link as a ZIP archive. Pictures whose data cannot be removed are left out, and a text in the archive names them.
 *
 * @param below the path below the shared folder; empty for itself
 * @param onEnd called with the bytes that the client took
 * @throws NodekeepError NOT_FOUND; PAYLOAD_TOO_LARGE
 */
export async function sendZip(
  { places, files }: ZipServices,
  share: Share,
  below: string,
  reply: FastifyReply,
  onEnd: (bytes: number) => void,
): Promise<FastifyReply> {
  const { name, entries } = await places.at(share, below, (place) => entriesIn(place, below))
  const { makeZip } = await import('client-zip')
  const inputs = zipInputs(files, share, { name, below, entries, signal: clientSignal(reply) })
  reply.headers({
    'content-type': 'application/zip',
    'content-disposition': contentDisposition(`${name}.zip`),
  })
  let bytes = 0
  const reader = makeZip(inputs).getReader()
  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (let step = await reader.read(); !step.done; step = await reader.read()) {
        bytes += step.value.length
        yield step.value
      }
    } finally {
      // A canceled stream of this library leaves the file open that it reads. The end of the inputs closes it.
      await inputs.return()
    }
  }
  finished(reply.raw, () => onEnd(bytes))
  await sendArchive(reply, content())
  return reply
}

/** @throws NodekeepError PAYLOAD_TOO_LARGE before the answer begins, since a broken archive would show no reason */
async function entriesIn(
  { files, path, root }: Place,
  below: string,
): Promise<{ readonly name: string; readonly entries: readonly ZipEntry[] }> {
  const entries: ZipEntry[] = []
  let characters = 0
  const folders = [below]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const { name, type, modified } of files.list(`${root}${folder}`)) {
      const entry = { below: `${folder}/${name}`, type, modified }
      characters += entry.below.length
      if (entries.push(entry) > mostEntries || characters > mostCharacters) {
        throw new NodekeepError(
          'PAYLOAD_TOO_LARGE',
          `A folder with more than ${mostEntries.toLocaleString('en')} files cannot be downloaded at once. Download the folders in it one by one.`,
        )
      }
      if (type === 'directory') folders.push(entry.below)
    }
  }
  return { name: nameOf(path), entries }
}

async function* zipInputs(files: SharedFiles, share: Share, { name, below, entries, signal }: ZipFolder) {
  const missing: string[] = []
  for (const entry of entries) {
    const zipName = `${name}${entry.below.slice(below.length)}`
    if (entry.type === 'directory') {
      yield { name: `${zipName}/`, lastModified: zipTime(entry.modified) }
      continue
    }
    try {
      const { size, modified, read } = await files.look(share, entry.below, signal)
      const content = read(null)
      try {
        yield { name: zipName, lastModified: zipTime(modified), size, input: ReadableStream.from(content) }
      } finally {
        await content.return()
      }
    } catch (error) {
      if (!isNodekeepError(error)) throw error
      if (error.code === 'UNPROCESSABLE') missing.push(`${zipName}: ${error.message}`)
      // A file that is gone meanwhile is none of the folder. If the link itself has ended, so has this answer.
      else if (error.code !== 'NOT_FOUND') throw error
    }
  }
  if (missing.length > 0) yield { name: `${name}/${listOfMissing}`, input: `${missing.join('\n')}\n` }
}

/** Returns the nearest time that a ZIP archive can hold. */
function zipTime(time: Date): Date {
  if (time < earliestZipTime) return earliestZipTime
  return time > latestZipTime ? latestZipTime : time
}
