import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { StorageBackend } from '../../contracts/storage.ts'
import { isNodekeepError } from '../../errors.ts'
import { assertAborted, assertFails } from '../failures.ts'
import { soon } from '../soon.ts'
import { assertAbsent, names, put, text } from './assertions.ts'
import { collect, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

/** The server of a storage, which a test puts out of reach. Each function resolves with one that ends it. */
export interface StorageServer {
  /** Lets each request fail, such as by a closed port or an answer with the status 503. */
  unreachable(backend: StorageBackend): Promise<() => Promise<void>>
  /** Lets one request fail, and as many repetitions of it as the backend makes by itself. `skip` requests pass before. */
  failOnce(backend: StorageBackend, skip: number): Promise<() => Promise<void>>
  /** Lets the server take each request and never answer it. */
  stall(backend: StorageBackend): Promise<() => Promise<void>>
}

type Call = readonly [name: string, call: (backend: StorageBackend, signal: AbortSignal) => Promise<unknown>]

const readings: readonly Call[] = [
  ['stat', (backend, signal) => backend.stat('/folder/file', { signal })],
  ['stat of a missing file', (backend, signal) => backend.stat('/folder/none', { signal })],
  ['list', (backend, signal) => namesIn(backend, '/folder', signal)],
  ['list of the root', (backend, signal) => namesIn(backend, '/', signal)],
  ['list of a missing folder', (backend, signal) => namesIn(backend, '/none', signal)],
  ['read', async (backend, signal) => collect((await backend.read('/folder/file', { signal })).content)],
]

const writing: Call = ['write', (backend, signal) => backend.write('/folder/new', stream('new'), { signal })]

/** Calls that are refused while the server works. */
const refused: readonly Call[] = [
  [
    'a write with `ifAbsent` to a file',
    (backend) => backend.write('/folder/file', stream('lost'), { ifAbsent: true }),
  ],
  ['a write below a file', (backend) => put(backend, '/folder/file/below', 'lost')],
  ['makeDirectory at a file', (backend) => backend.makeDirectory('/folder/file')],
  ['remove of a missing file', (backend) => backend.remove('/folder/none')],
  [
    'remove with `onlyIfEmpty` of a filled folder',
    (backend) => backend.remove('/folder', { onlyIfEmpty: true }),
  ],
]

/** The requests of a call of which each is let fail, one at a time. */
const failingRequests = [0, 1, 2]

const otherCalls: readonly Call[] = [
  ['an overwrite', (backend) => put(backend, '/folder/file', 'lost')],
  ['makeDirectory', (backend) => backend.makeDirectory('/new')],
  ['remove', (backend) => backend.remove('/folder/file')],
  ['remove of a folder', (backend) => backend.remove('/folder')],
]

async function namesIn(backend: StorageBackend, path: string, signal: AbortSignal): Promise<string[]> {
  return (await Array.fromAsync(backend.list(path, { signal }))).map(({ name }) => name)
}

/** Returns the result of a call, or the code of its error. An error of another kind is thrown. */
function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch((thrown: unknown) => {
    if (isNodekeepError(thrown)) return thrown.code
    throw thrown
  })
}

/** The calls that not every backend has. */
function ownCalls({ move, copy }: StorageBackend): readonly Call[] {
  const moved: Call = ['move', async (backend) => backend.move?.('/folder/file', '/moved')]
  const copied: Call = ['copy', async (backend) => backend.copy?.('/folder/file', '/copy')]
  return [...(move ? [moved] : []), ...(copy ? [copied] : [])]
}

/** @param server null for a storage without a server, such as a disk of the node */
export function outageChecks(check: BackendCheck, server: StorageServer | null): void {
  const { signal } = new AbortController()

  check(
    'while the server is out of reach, each call says so, and afterwards all is as before',
    async (backend, skip) => {
      if (server === null) return skip('The storage has no server.')
      await put(backend, '/folder/file', 'kept')
      const goOn = await server.unreachable(backend)
      const probe: Call = ['probe', () => backend.probe(signal)]
      for (const [name, call] of [...readings, writing, ...otherCalls, ...ownCalls(backend), probe]) {
        const what = `${name} without a server`
        await assertFails(soon(call(backend, signal), `${what} has no end`), ['SERVICE_UNAVAILABLE'], what)
      }
      await goOn()
      assert.deepEqual(await names(backend, '/'), ['folder'])
      assert.deepEqual(await names(backend, '/folder'), ['file'])
      assert.equal(await text(backend, '/folder/file'), 'kept')
      await put(backend, '/folder/new', 'stored')
      assert.equal(await text(backend, '/folder/new'), 'stored')
    },
  )

  check('a call of which one request fails says so, or does what it should', async (backend, skip) => {
    if (server === null) return skip('The storage has no server.')
    await put(backend, '/folder/file', 'kept')
    for (const [name, call] of [...readings, ...refused]) {
      const expected = await outcomeOf(call(backend, signal))
      for (const request of failingRequests) {
        const goOn = await server.failOnce(backend, request)
        const what = `${name} whose request ${request + 1} fails`
        const outcome = await outcomeOf(soon(call(backend, signal), `${what} has no end`))
        await goOn()
        if (outcome !== 'SERVICE_UNAVAILABLE') assert.deepEqual(outcome, expected, what)
      }
    }
    assert.deepEqual(await names(backend, '/folder'), ['file'], 'what was refused left nothing')
    assert.equal(await text(backend, '/folder/file'), 'kept')

    for (const request of failingRequests) {
      const [removed, written] = [`/folder/removed-${request}`, `/written-${request}/file`]
      await put(backend, removed, 'x')
      const changes = [
        [() => backend.remove(removed), () => assertAbsent(backend, removed)],
        [
          () => put(backend, written, 'whole'),
          async () => assert.equal(await text(backend, written), 'whole'),
        ],
      ] as const
      for (const [change, assertDone] of changes) {
        const goOn = await server.failOnce(backend, request)
        const outcome = await outcomeOf(
          soon<unknown>(change(), 'a change of which a request fails has no end'),
        )
        await goOn()
        if (outcome !== 'SERVICE_UNAVAILABLE') await assertDone()
      }
    }
  })

  check('a write whose server goes away meanwhile fails, and stores nothing', async (backend, skip) => {
    if (server === null) return skip('The storage has no server.')
    let goOn = async () => {}
    async function* content() {
      yield Buffer.alloc(64 * 1024)
      goOn = (await server?.unreachable(backend)) ?? goOn
      yield Buffer.alloc(64 * 1024)
    }
    const what = 'a write whose server goes away'
    await assertFails(
      soon(backend.write('/file', content()), `${what} has no end`),
      ['SERVICE_UNAVAILABLE'],
      what,
    )
    await goOn()
    await assertAbsent(backend, '/file')
  })

  check('a call to a silent server ends when its signal aborts', async (backend, skip) => {
    if (server === null) return skip('The storage has no server.')
    await put(backend, '/folder/file', 'kept')
    for (const [name, call] of [...readings, writing]) {
      const goOn = await server.stall(backend)
      const controller = new AbortController()
      const called = call(backend, controller.signal)
      called.catch(() => {})
      await setImmediate()
      controller.abort(new Error('The caller has left.'))
      const what = `${name} of a silent server`
      await assertAborted(soon(called, `${what} goes on after its abort`), controller.signal, what)
      await goOn()
    }
    assert.equal(await text(backend, '/folder/file'), 'kept')
  })

  check('a write whose server falls silent meanwhile ends when its signal aborts', async (backend, skip) => {
    if (server === null) return skip('The storage has no server.')
    const controller = new AbortController()
    let goOn = async () => {}
    async function* content() {
      yield Buffer.alloc(64 * 1024)
      goOn = (await server?.stall(backend)) ?? goOn
      yield Buffer.alloc(64 * 1024)
      void setImmediate().then(() => controller.abort(new Error('The caller has left.')))
    }
    const what = 'a write whose server falls silent'
    const written = backend.write('/file', content(), { signal: controller.signal })
    await assertAborted(soon(written, `${what} goes on after its abort`), controller.signal, what)
    await goOn()
    await assertAbsent(backend, '/file')
  })

  check('a close does not wait for a silent server', async (backend, skip) => {
    if (server === null) return skip('The storage has no server.')
    await put(backend, '/folder/file', 'kept')
    const goOn = await server.stall(backend)
    const calls = [...readings, writing, ...otherCalls, ...ownCalls(backend)].map(([, call]) =>
      call(backend, signal),
    )
    const ended = Promise.allSettled(calls)
    await setImmediate()
    await soon(backend.close(), 'the close waits for a silent server')
    await soon(ended, 'a call goes on after the close')
    await goOn()
  })
}
