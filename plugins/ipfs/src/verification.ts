import { type Log, messageOf, type RoutesApp, type StateStore, Type } from '@nodekeep/plugin-sdk'
import { publicationOfHolder } from './publishing/publication-roots.ts'
import type { LazyStore } from './store/lazy-store.ts'

/** The key in the state of the plugin. */
const stateKey = 'verified'

/** Damaged blocks of which a result tells the files. */
const mostNamed = 100

const result = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When it ended.' }),
  blocks: Type.Integer(),
  bytes: Type.Integer(),
  damagedBlocks: Type.Integer(),
  damaged: Type.Array(
    Type.Object({
      cid: Type.String(),
      paths: Type.Array(Type.String(), {
        description: 'Files on the backend that have the block, below the uuid of their user.',
      }),
      publications: Type.Array(Type.String(), {
        description: 'The ids of publications that have the block.',
      }),
    }),
    { description: `At most ${mostNamed} of the damaged blocks.` },
  ),
  problem: Type.Union([Type.String(), Type.Null()], {
    description: 'Why it ended before it had read everything.',
  }),
})

const status = Type.Object({
  running: Type.Union([Type.Object({ bytes: Type.Integer(), of: Type.Integer() }), Type.Null()], {
    description: 'Bytes that were read so far, and all bytes. Null if none runs.',
  }),
  last: Type.Union([result, Type.Null()]),
})

type Result = Type.Static<typeof result>

interface VerificationServices {
  readonly store: LazyStore
  readonly state: StateStore
  readonly log: Log
  readonly signal: AbortSignal
}

/** Reads all blocks and compares them with their CIDs, one run at a time. The last result survives restarts. */
export class Verification {
  readonly #services: VerificationServices
  #progress: { bytes: number; of: number } | null = null
  #running: Promise<void> | null = null

  constructor(services: VerificationServices) {
    this.#services = services
  }

  async last(): Promise<Result | null> {
    return (await this.#services.state.get<Result>(stateKey)) ?? null
  }

  get progress(): { readonly bytes: number; readonly of: number } | null {
    return this.#progress
  }

  /** Begins a run, unless one runs. */
  begin(): void {
    if (this.#running !== null) return
    this.#progress = { bytes: 0, of: 0 }
    this.#running = this.#run()
      .catch((error) => {
        const { log, signal } = this.#services
        if (!signal.aborted) log.error({ err: error }, 'The result of the verification could not be stored.')
      })
      .finally(() => {
        this.#progress = null
        this.#running = null
      })
  }

  async close(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { state, log, signal } = this.#services
    const found = await this.#verify().catch((error) => {
      signal.throwIfAborted()
      log.error({ err: error }, 'The blocks could not be verified to the end.')
      return { blocks: 0, bytes: 0, damaged: [], problem: messageOf(error) }
    })
    const { damaged } = found
    const named = damaged.slice(0, mostNamed).map(({ cid, paths, holders }) => ({
      cid: `${cid}`,
      paths: [...paths],
      publications: holders.map(publicationOfHolder).filter((id) => id !== null),
    }))
    if (named.length > 0)
      log.error({ damaged: named }, 'Blocks are damaged on the disk. Restore their files from a backup.')
    const at = new Date().toISOString()
    await state.set(stateKey, { ...found, at, damagedBlocks: damaged.length, damaged: named })
  }

  async #verify() {
    const { store, signal } = this.#services
    if (!store.isUsed) return { blocks: 0, bytes: 0, damaged: [], problem: null }
    const found = await (await store.open()).verify({
      signal,
      onProgress: (bytes, of) => {
        this.#progress = { bytes, of }
      },
    })
    return { ...found, problem: null }
  }
}

/** Registers `GET` and `POST /verify` below the prefix. */
export function verificationRoutes(app: RoutesApp, verification: Verification): void {
  const config = { access: 'owner', scope: 'ipfs' } as const
  const answer = async () => ({ running: verification.progress, last: await verification.last() })
  app.get(
    '/verify',
    {
      config,
      schema: {
        operationId: 'getVerification',
        summary: 'The progress and the last result of a verification of all blocks',
        response: { 200: status },
      },
    },
    answer,
  )
  app.post(
    '/verify',
    {
      config,
      schema: {
        operationId: 'verifyBlocks',
        summary: 'Read all blocks, and check that no bit has changed',
        description: 'It answers at once. A call while one runs begins no other.',
        response: { 200: status },
      },
    },
    () => {
      verification.begin()
      return answer()
    },
  )
}
