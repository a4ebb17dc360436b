import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import type { UpdateSource } from '../../contracts/update.ts'
import type { ErrorCode } from '../../errors.ts'
import { assertFails as assertFailsByCode, assertFailsWith } from '../failures.ts'
import { soon } from '../soon.ts'
import { emptyFolder, never } from './releases.ts'

/** Expects a call to fail soon. */
export async function assertFails(
  call: Promise<unknown>,
  codes: readonly ErrorCode[],
  what: string,
): Promise<void> {
  await assertFailsByCode(soon(call, `${what} did not end`), codes, what)
}

/** Expects a download to fail, and to leave nothing. */
export async function assertDownloadFails(
  source: UpdateSource,
  version: string,
  codes: readonly ErrorCode[],
  signal: AbortSignal = never,
): Promise<void> {
  await using folder = await emptyFolder()
  await assertFails(source.download({ version }, folder.path, { signal }), codes, 'a download')
  assert.deepEqual(await readdir(folder.path), [], 'a download that fails leaves nothing')
}

/**
 * Expects a call to end with the reason of its signal.
 *
 * @param asked when to abort; without it, the signal is aborted before the call
 */
export async function assertAborts(
  call: (signal: AbortSignal) => Promise<unknown>,
  asked?: Promise<void>,
): Promise<void> {
  const controller = new AbortController()
  const reason = new Error('The suite has aborted.')
  if (asked === undefined) controller.abort(reason)
  const aborted = assertFailsWith(call(controller.signal), reason, 'an aborted call')
  if (asked !== undefined) {
    await soon(Promise.race([asked, aborted]), 'The source asked for nothing.')
    controller.abort(reason)
  }
  await soon(aborted, 'A call went on after its signal was aborted.')
}
