import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

/** The answer of `POST /api/files/check` about one file. */
export type CheckedAnswer = NodeAnswers['POST /api/files/check']['files'][number]

/** The outcome of a check. */
export interface Tally {
  /** Files that were checked. */
  readonly files: number
  readonly stored: number
  /** Stored files that are in a backup that was tried out. */
  readonly inBackup: number
  /** When these backups were tried out; `null` if there are none. */
  readonly tried: { readonly first: Date; readonly last: Date } | null
}

/**
 * Says the outcome of a check: "312 of 314 are stored and in a backup that was tried out on 2026-11-28. These 2 are not stored."
 *
 * @param dateText writes a day for the person
 */
export function sentenceOf(
  { files, stored, inBackup, tried }: Tally,
  dateText: (date: Date) => string,
): string {
  if (files === 0) return 'There is no file to check.'
  const [missing, onlyStored] = [files - stored, stored - inBackup]
  const sentences: string[] = []
  if (tried !== null) {
    const [first, last] = [dateText(tried.first), dateText(tried.last)]
    const backup =
      first === last
        ? `a backup that was tried out on ${first}`
        : `backups that were tried out from ${first} to ${last}`
    sentences.push(`${share(inBackup, files)} stored and in ${backup}.`)
  }
  if (onlyStored > 0)
    sentences.push(`${share(onlyStored, files)} stored, but in no backup that was tried out.`)
  if (stored === 0)
    return files === 1 ? 'The file is not on the node.' : `None of the ${number(files)} is on the node.`
  if (missing > 0)
    sentences.push(missing === 1 ? 'This one is not stored.' : `These ${number(missing)} are not stored.`)
  return sentences.join(' ')
}

function share(count: number, files: number): string {
  if (count === files) return files === 1 ? 'The file is' : `All ${number(files)} are`
  return `${number(count)} of ${number(files)} ${count === 1 ? 'is' : 'are'}`
}

function number(count: number): string {
  return count.toLocaleString('en')
}

/** Says why a file is not stored, for the person. A stored one has no reason. */
export function reasonOf({ state, path }: Pick<CheckedAnswer, 'state' | 'path'>): string {
  switch (state) {
    case 'damaged':
      return `The node had it at ${path}, but its bytes there are others now, although nobody has changed it. The disk may fail.`
    case 'unreadable':
      return `It may be at ${path}, which cannot be read now.`
    case 'changed':
      return `The node had it at ${path}, which is gone or has changed since.`
    case 'unlisted':
      return 'The node has not listed all files yet. Ask again later.'
    case 'shorter':
      return `Only a part of it may be here: ${path} is shorter.`
    case 'other':
      return `A file of this name has other bytes: ${path}.`
    case 'pending':
      return 'The node has not answered yet.'
    default:
      return 'It is not on the node.'
  }
}
