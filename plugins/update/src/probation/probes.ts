import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  type FilesService,
  isNodekeepError,
  type NodeAddress,
  type RegistryReader,
  type UserDirectory,
  type WasmModule,
  type WasmRuntime,
} from '@nodekeep/plugin-sdk'

/** A probe of one part of the node, as its users see it. */
export interface Probe {
  readonly name: string
  /** How long the part may fail without a break before it counts as broken, in milliseconds. */
  readonly maxFailingMs: number
  /** Rejects if the part does not work, with one sentence as the message. */
  run(signal: AbortSignal): Promise<void>
}

/** Connections to the outside are made again within this time. */
const publicMaxFailingMs = 180_000
const maxFailingMs = 30_000

/** Lists the probes of the parts that the node has now. */
export function probesOf(
  address: Pick<NodeAddress, 'local' | 'publicOrigins'>,
  users: Pick<UserDirectory, 'owner'>,
  files: FilesService | undefined,
  runtimes: RegistryReader<WasmRuntime>,
): Probe[] {
  const probes: Probe[] = []
  const local = address.local()
  if (local !== null)
    probes.push({ name: 'port', maxFailingMs, run: (signal) => whoami(local.origin, signal) })
  if (files !== undefined) probes.push({ name: 'files', maxFailingMs, run: () => canary(files, users) })
  const runtime = [...runtimes].map(([, entry]) => entry).find(({ supports }) => supports.functions)
  if (runtime !== undefined)
    probes.push({ name: 'wasm', maxFailingMs, run: (signal) => addition(runtime, signal) })
  for (const origin of address.publicOrigins()) {
    const run = (signal: AbortSignal) => whoami(origin, signal)
    probes.push({ name: `${publicPrefix}${origin}`, maxFailingMs: publicMaxFailingMs, run })
  }
  return probes
}

const publicPrefix = 'public '

/**
 * The probe of a part that is not there now. A public address is missing while the node is not connected; other parts are missing if
 * their plugin is, which the start has accepted.
 */
export function missingProbe(name: string): Probe | null {
  if (!name.startsWith(publicPrefix)) return null
  return {
    name,
    maxFailingMs: publicMaxFailingMs,
    async run() {
      throw new Error(`${name.slice(publicPrefix.length)} does not reach the node any more.`)
    },
  }
}

async function whoami(origin: string, signal: AbortSignal): Promise<void> {
  const answer = await fetch(new URL('/whoami', origin), { signal, redirect: 'error' }).catch((cause) => {
    throw new Error(`The node does not answer at ${origin}.`, { cause })
  })
  const { user } = answer.ok ? ((await answer.json()) as { user?: { authenticated?: unknown } }) : {}
  if (user?.authenticated !== false) throw new Error(`The node answers wrongly at ${origin}.`)
}

const canaryName = '.nodekeep-update-check'
const origin = { by: 'update', maker: { kind: 'plugin', id: 'update' } } as const
const canaryText = 'Nodekeep writes this file to check an update. You may delete it. '

/** Writes, reads and removes a hidden file of the owner. One that a crash has left is removed as well. */
async function canary(files: FilesService, users: Pick<UserDirectory, 'owner'>): Promise<void> {
  const owner = await users.owner()
  if (owner === null) return
  const own = files.for(owner, origin)
  const text = `${canaryText}${randomUUID()}`
  const path = `/${canaryName}-${randomUUID().slice(0, 8)}`
  let found: string
  try {
    for await (const left of own.list('/', { after: canaryName })) {
      if (!left.name.startsWith(`${canaryName}-`)) break
      await own.remove(left.path)
    }
    await own.write(path, Readable.from([Buffer.from(text)]), { ifAbsent: true })
    const { content } = await own.read(path)
    found = String(await buffer(content))
    await own.remove(path)
  } catch (cause) {
    // A full disk is no fault of a version.
    if (isNodekeepError(cause) && cause.code === 'INSUFFICIENT_STORAGE') return
    const reason = isNodekeepError(cause) ? ` ${cause.message}` : ''
    throw new Error(`A file of the owner cannot be stored.${reason}`, { cause })
  }
  if (found !== text) throw new Error('A file of the owner was stored and read wrongly.')
}

/** `(func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)` */
const addingModule = moduleOf('AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags=')

async function addition(runtime: WasmRuntime, signal: AbortSignal): Promise<void> {
  const limits = { timeoutMs: 5000, memoryBytes: 16 * 1024 ** 2, outputBytes: 1024 }
  const results = await runtime.call?.(addingModule, 'add', [19, 23], limits, signal).catch((cause) => {
    // A runtime that is busy with its users works.
    if (isNodekeepError(cause) && cause.code === 'TOO_MANY_REQUESTS') return [42]
    throw new Error('A WebAssembly function cannot be called.', { cause })
  })
  if (results?.[0] !== 42) throw new Error('A WebAssembly function returns wrong results.')
}

function moduleOf(base64: string): WasmModule {
  const bytes = Buffer.from(base64, 'base64')
  return {
    hash: createHash('sha256').update(bytes).digest('hex'),
    size: bytes.length,
    bytes: async () => bytes,
  }
}
