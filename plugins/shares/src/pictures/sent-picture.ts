import type { FilesService, UserFiles } from '@nodekeep/plugin-sdk'
import { readVersion } from '../read-version.ts'
import { hasPictureName } from './picture-format.ts'
import type { PicturePlans } from './picture-plans.ts'
import type { RefusalReason } from './refused-picture.ts'

/** Entries of a folder among which the first picture is looked for. */
const mostEntries = 500

/** The way in which a picture goes out by a link without places and camera data. */
interface SentPicture {
  readonly path: string
  /** The reason for which it is not sent; null for one that is. */
  readonly refused: RefusalReason | null
}

/**
 * Tells a maker, before there is a link, how a picture would go out: that at a path, or the first one of a folder by name.
 *
 * @returns null if there is no picture
 * @throws NodekeepError NOT_FOUND; CONFLICT if the file changes meanwhile; the reason of the signal
 */
export async function sentPicture(
  { files, plans }: { readonly files: FilesService; readonly plans: PicturePlans },
  userUuid: string,
  path: string,
  signal: AbortSignal,
): Promise<SentPicture | null> {
  const own = files.for({ uuid: userUuid })
  const shared = await own.stat(path)
  const first = shared.type === 'file' ? shared.path : await firstPicture(own, shared.path)
  if (first === null) return null
  const file = await own.stat(first)
  if (file.type !== 'file') return null
  const { size, revision } = file
  const source = {
    size,
    read: (start: number, end: number) =>
      readVersion(revision, () => own.read(file.path, { reuseBuffers: true, start, end, signal })),
  }
  const plan = await plans.for({ userUuid, path: file.path, revision }, source, signal)
  if (plan.kind === 'unchanged') return null
  return { path: file.path, refused: plan.kind === 'refused' ? plan.reason : null }
}

async function firstPicture(files: UserFiles, folder: string): Promise<string | null> {
  let looked = 0
  for await (const { name, type } of files.list(folder)) {
    if (type === 'file' && hasPictureName(name)) return `${folder === '/' ? '' : folder}/${name}`
    looked += 1
    if (looked === mostEntries) break
  }
  return null
}
