import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import type { UpdateSource } from '../../contracts/update.ts'
import { startElsewhere } from '../elsewhere.ts'
import { assertAborts, assertDownloadFails, assertFails } from './assertions.ts'
import { emptyFolder, never, newest, releaseOf } from './releases.ts'
import type { ReleaseServer, UpdateCheck } from './subject.ts'

const mebibyte = 1024 ** 2

/** The bounds of the contract. */
const bounds = { list: 16 * mebibyte, release: 1024 * mebibyte }

/** Bytes that may be on their way between the server and the source. */
const onTheWay = 16 * mebibyte

/** A published release, the source that has found it, and the server that has it. */
interface Served {
  readonly source: UpdateSource
  readonly version: string
  readonly server: ReleaseServer
  readonly skip: (reason: string) => void
}

/** A server may be slow, gone, or in the hands of somebody who wants to harm the node. */
export function serverChecks(register: UpdateCheck): void {
  const check = (name: string, run: (served: Served) => Promise<void>) =>
    register(name, async ({ source, server, publish }, skip) => {
      if (server === null) return skip('The source has no server ("server").')
      await publish(releaseOf('1.1.0'))
      const { version } = await newest(source)
      await run({ source, version, server, skip })
    })

  check('a source that cannot be reached fails', async ({ source, version, server }) => {
    await server.unreachable()
    const codes = ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'] as const
    await assertFails(source.latest('1.0.0', never), codes, 'a check without a server')
    await assertDownloadFails(source, version, codes)
  })

  check('a stalled check ends when it is aborted', async ({ source, server }) => {
    const { asked } = await server.stall()
    await assertAborts((signal) => source.latest('1.0.0', signal), asked)
  })

  check(
    'a stalled download ends when it is aborted, and leaves nothing',
    async ({ source, version, server }) => {
      const { asked } = await server.stall()
      await using folder = await emptyFolder()
      await assertAborts((signal) => source.download({ version }, folder.path, { signal }), asked)
      assert.deepEqual(await readdir(folder.path), [])
    },
  )

  check('a list that does not end is refused', ({ source, server }) =>
    assertBounded(server, 'list', (signal) =>
      assertFails(source.latest('1.0.0', signal), ['UPSTREAM_ERROR'], 'a check of an endless list'),
    ),
  )

  check('a release that does not end is refused', ({ source, version, server }) =>
    assertBounded(server, 'release', (signal) =>
      assertDownloadFails(source, version, ['UPSTREAM_ERROR'], signal),
    ),
  )

  for (const [what, call] of [
    [
      'a check',
      ({ source }: Served) =>
        assertFails(source.latest('1.0.0', never), ['UPSTREAM_ERROR'], 'a check that is redirected'),
    ],
    ['a download', ({ source, version }: Served) => assertDownloadFails(source, version, ['UPSTREAM_ERROR'])],
  ] as const) {
    check(`a redirect of ${what} to another origin is not followed`, async (served) => {
      const { redirect } = served.server
      if (redirect === null) return served.skip('The protocol has no redirects ("redirect").')
      const elsewhere = await startElsewhere()
      try {
        await redirect(elsewhere.url)
        const [outcome] = await Promise.allSettled([call(served)])
        assert.equal(elsewhere.visits(), 0, 'the source goes nowhere else')
        if (outcome.status === 'rejected') throw outcome.reason
      } finally {
        await elsewhere.stop()
      }
    })
  }
}

/** Runs an attempt while a part has no end. The attempt must give up within the bound of the contract. */
async function assertBounded(
  server: ReleaseServer,
  part: keyof typeof bounds,
  attempt: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const most = bounds[part] + onTheWay
  const beyond = Promise.withResolvers<never>()
  const end = Promise.withResolvers<void>()
  const piece = Buffer.alloc(64 * 1024, ' ')
  async function* bytes() {
    for (let sent = 0; sent < most; sent += piece.length) yield piece
    beyond.reject(
      new assert.AssertionError({
        message: `The source took more than ${bounds[part] / mebibyte} MiB of a ${part}.`,
      }),
    )
    await end.promise
  }
  const controller = new AbortController()
  await server.flood(part, bytes)
  const attempted = attempt(controller.signal)
  try {
    await Promise.race([attempted, beyond.promise])
  } finally {
    attempted.catch(() => {})
    beyond.promise.catch(() => {})
    controller.abort()
    end.resolve()
  }
}
