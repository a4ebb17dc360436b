import type { ChangePosition } from '@nodekeep/plugin-sdk'
import type { Share } from '../share.ts'
import type { Upload } from '../tables/use-table.ts'
import type { Allowance } from './allowances.ts'
import { fileName } from './file-name.ts'
import type { StagedDrop } from './staged-drop.ts'

/** Characters of the name that a guest gives. */
const longestSender = 80

/** A file as a guest announces it. */
export interface AnnouncedFile {
  readonly name: string
  /** The name that the guest gives; null if none was asked for. */
  readonly sender: string | null
  /** Bytes. */
  readonly length: number
}

/** An upload whose end is not recorded. */
export interface OpenUpload extends Omit<Upload, 'received' | 'began'> {
  readonly staged: StagedDrop
  readonly allowance: Allowance
  /** Where the journal of files was before the file was written; null as long as nothing writes it. Then the file may be stored. */
  began: ChangePosition | null
  /** Ends the request that receives bytes, or writes the file, now. */
  newest: AbortController | null
}

/** Makes an upload of a file that nothing has written. */
export function openUpload(
  { id: share, userUuid }: Share,
  { name, sender }: Omit<AnnouncedFile, 'length'>,
  rest: Pick<OpenUpload, 'id' | 'network' | 'length' | 'staged' | 'allowance' | 'newest'>,
): OpenUpload {
  return { ...rest, share, userUuid, name: fileName(name), sender: senderOf(sender), began: null }
}

/** The name that a guest gives, as one line; null for none. */
function senderOf(text: string | null): string | null {
  const line = (text ?? '')
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  return line === '' ? null : line.slice(0, longestSender).toWellFormed()
}
