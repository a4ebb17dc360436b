import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Release, UpdateSource } from '../contracts/update.ts'
import type { ErrorCode, NodekeepError } from '../errors.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { assertFails as assertFailsWith, failureOf } from './failures.ts'
import { soon } from './soon.ts'

export type { ConformanceTest }

/** A release that the suite publishes. */
export interface PublishedRelease extends Release {
  /** The texts of its files by their paths, with a `release.json` for this machine. Those in `bin` are programs. */
  readonly files: Readonly<Record<string, string>>
}

/** A source that is ready for one test, with nothing published. */
export interface UpdateSubject {
  readonly source: UpdateSource
  /** Publishes a release as the newest one. */
  publish(release: PublishedRelease): Promise<void>
  /** Changes the content of the newest release where the source gets it from, without its publisher. */
  tamper?(): Promise<void>
  /** From now on, the source gets everything as it was before the newest release was published. */
  replay?(): Promise<void>
  /** From now on, requests of the source are received and not answered. `asked` resolves when there was one. */
  stall?(): Promise<{ readonly asked: Promise<void> }>
  /** From now on, nothing receives requests of the source. */
  unreachable?(): Promise<void>
  close(): Promise<void>
}

/** The functions that the author of a source passes to the suite. */
export interface UpdateHarness {
  /** Prepares a source with a state of its own. Called once for each test. */
  setUp(): Promise<UpdateSubject>
}

const never = new AbortController().signal

/**
 * Registers the tests that every source of updates must pass. The suite does not depend on a test runner: it uses the given function to
 * register its tests.
 *
 * @example
 * import { test } from 'node:test'
 * updateConformance(test, { setUp: async () => ({ source, publish, tamper, replay, stall, unreachable, close }) })
 */
export function updateConformance(test: ConformanceTest, harness: UpdateHarness): void {
  const check = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )

  check('the newest release is found, with its notes', async ({ source, publish }) => {
    assert.equal(source.isConfigured, true)
    for (const version of ['1.1.0', '1.9.0', '1.10.0']) await publish(releaseOf(version))
    const found = await source.latest('1.0.0', never)
    assert.equal(found?.version, '1.10.0')
    assert.equal(found.notes, notesOf('1.10.0'))
  })

  check('before anything is published, there is no release', async ({ source }) => {
    assert.equal(await source.latest('0.0.1', never), null)
  })

  check('a release without notes has an empty text', async ({ source, publish }) => {
    await publish({ ...releaseOf('1.1.0'), notes: '' })
    assert.equal((await source.latest('1.0.0', never))?.notes, '')
  })

  check('nothing is newer than the newest release', async ({ source, publish }) => {
    for (const version of ['1.9.0', '1.10.0']) await publish(releaseOf(version))
    assert.equal((await source.latest('1.9.0', never))?.version, '1.10.0')
    for (const current of ['1.10.0', '1.11.0', '2.0.0', '10.0.0']) {
      assert.equal(await source.latest(current, never), null, current)
    }
  })

  check('a release is unpacked as it was published', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await publish(releaseOf('1.2.0'))
    await using folder = await emptyFolder()
    await source.download(await newest(source), folder.path, { signal: never })
    assert.deepEqual(await filesIn(folder.path), releaseOf('1.2.0').files)
    assert.equal(await isExecutable(join(folder.path, 'bin/nodekeep')), true, 'a program stays one')
    assert.equal(await isExecutable(join(folder.path, 'release.json')), false)
  })

  check('the progress of a download rises to 1', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await using folder = await emptyFolder()
    const shares: number[] = []
    const onProgress = (share: number) => shares.push(share)
    await source.download(await newest(source), folder.path, { signal: never, onProgress })
    assert.equal(shares.at(-1), 1)
    assert.ok(
      shares.every((share, at) => share >= (shares[at - 1] ?? 0) && share <= 1),
      `The progress must rise from 0 to 1: ${shares.join(', ')}`,
    )
  })

  check('a folder with content is refused, and stays as it is', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await using folder = await emptyFolder()
    await writeFile(join(folder.path, 'mine'), 'mine')
    const download = source.download(await newest(source), folder.path, { signal: never })
    await assertFails(download, ['CONFLICT'])
    assert.deepEqual(await filesIn(folder.path), { mine: 'mine' })
  })

  check('a release that was never published is not found', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await using folder = await emptyFolder()
    await assertFails(source.download({ version: '9.9.9' }, folder.path, { signal: never }), ['NOT_FOUND'])
    assert.deepEqual(await readdir(folder.path), [])
  })

  check('a release that somebody has changed is refused, and leaves nothing', async (subject, skip) => {
    if (subject.tamper === undefined) return skip('The harness has no "tamper".')
    const { source } = subject
    await subject.publish(releaseOf('1.1.0'))
    const found = await newest(source)
    await subject.tamper()
    await using folder = await emptyFolder()
    await assertFails(source.download(found, folder.path, { signal: never }), ['UPSTREAM_ERROR'])
    assert.deepEqual(await readdir(folder.path), [])
  })

  check('an older state than the node has seen is refused', async (subject, skip) => {
    if (subject.replay === undefined) return skip('The harness has no "replay".')
    const { source } = subject
    await subject.publish(releaseOf('1.1.0'))
    await subject.publish(releaseOf('1.2.0'))
    assert.equal((await newest(source)).version, '1.2.0')
    await subject.replay()
    await assertFails(source.latest('1.0.0', never), ['UPSTREAM_ERROR'])
  })

  check('a source that cannot be reached fails', async (subject, skip) => {
    if (subject.unreachable === undefined) return skip('The harness has no "unreachable".')
    const { source } = subject
    await subject.publish(releaseOf('1.1.0'))
    const found = await newest(source)
    await subject.unreachable()
    await assertFails(source.latest('1.0.0', never), ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'])
    await using folder = await emptyFolder()
    const download = source.download(found, folder.path, { signal: never })
    await assertFails(download, ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'])
    assert.deepEqual(await readdir(folder.path), [])
  })

  check('an aborted check ends with the reason', async (subject, skip) => {
    const { source } = subject
    await subject.publish(releaseOf('1.1.0'))
    await assertAborts((signal) => source.latest('1.0.0', signal))
    if (subject.stall === undefined) return skip('The harness has no "stall".')
    const { asked } = await subject.stall()
    await assertAborts((signal) => source.latest('1.0.0', signal), asked)
  })

  check('an aborted download ends with the reason, and leaves nothing', async (subject, skip) => {
    const { source } = subject
    await subject.publish(releaseOf('1.1.0'))
    const found = await newest(source)
    await using folder = await emptyFolder()
    const download = (signal: AbortSignal) => source.download(found, folder.path, { signal })
    await assertAborts(download)
    if (subject.stall === undefined) return skip('The harness has no "stall".')
    const { asked } = await subject.stall()
    await assertAborts(download, asked)
    assert.deepEqual(await readdir(folder.path), [])
  })

  check('calls at the same time do not disturb each other', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    const found = await newest(source)
    await using one = await emptyFolder()
    await using other = await emptyFolder()
    const [a, b] = await Promise.all([
      source.latest('1.0.0', never),
      source.latest('1.1.0', never),
      source.download(found, one.path, { signal: never }),
      source.download(found, other.path, { signal: never }),
    ])
    assert.equal(a?.version, '1.1.0')
    assert.equal(b, null)
    for (const { path } of [one, other]) assert.deepEqual(await filesIn(path), releaseOf('1.1.0').files)
  })
}

function releaseOf(version: string): PublishedRelease {
  const files = {
    'bin/nodekeep': `#!/bin/sh\necho ${version}\n`,
    'node_modules/a/index.js': 'export default 1\n'.repeat(20_000),
    'release.json': JSON.stringify({ version, platform: `${process.platform}-${process.arch}` }),
  }
  return { version, notes: notesOf(version), files }
}

function notesOf(version: string): string {
  return `## ${version}\n\n- Grüße, and "quotes".\n`
}

async function newest(source: UpdateSource): Promise<Release> {
  const found = await source.latest('1.0.0', never)
  assert.ok(found, 'The published release was not found.')
  return found
}

async function emptyFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'nodekeep-release-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

/** Returns the texts of all files below a folder, by their paths in alphabetical order. */
async function filesIn(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const names = await readdir(folder, { recursive: true })
  for (const name of names.sort()) {
    const path = join(folder, name)
    if ((await stat(path)).isFile()) found[name.replaceAll('\\', '/')] = await readFile(path, 'utf8')
  }
  return found
}

/** Windows knows no programs by their mode. */
async function isExecutable(path: string): Promise<boolean> {
  if (process.platform === 'win32') return path.includes('bin')
  return ((await stat(path)).mode & 0o100) !== 0
}

function assertFails(call: Promise<unknown>, codes: readonly ErrorCode[]): Promise<NodekeepError> {
  return assertFailsWith(soon(call, 'A call did not end.'), codes, 'a call')
}

/** @param asked when to abort; without it, the signal is aborted before the call */
async function assertAborts(
  call: (signal: AbortSignal) => Promise<unknown>,
  asked?: Promise<void>,
): Promise<void> {
  const controller = new AbortController()
  const reason = new Error('The suite has aborted.')
  if (asked === undefined) controller.abort(reason)
  const rejection = failureOf(call(controller.signal), 'an aborted call')
  if (asked !== undefined) {
    await soon(Promise.race([asked, rejection]), 'The source asked for nothing.')
    controller.abort(reason)
  }
  const thrown = await soon(rejection, 'A call went on after its signal was aborted.')
  assert.equal(thrown, reason, 'a call that was aborted ends with the reason of its signal')
}
