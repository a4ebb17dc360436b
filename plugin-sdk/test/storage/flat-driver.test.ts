import { inspect } from 'node:util'
import { createStorageBackend, flatDriver, type StorageBackend } from '@nodekeep/plugin-sdk'
import { type ConformanceTest, storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import { test } from 'tap'
import { FlatServer } from './fixtures/flat-server.ts'
import { httpStore } from './fixtures/http-store.ts'

const servers = new WeakMap<StorageBackend, FlatServer>()

function serverOf(backend: StorageBackend): FlatServer {
  return servers.get(backend) as FlatServer
}

function open(server: FlatServer, conditionalWrites: boolean): StorageBackend {
  const backend = createStorageBackend(flatDriver(httpStore(server.url, conditionalWrites)))
  servers.set(backend, server)
  return backend
}

function outage(state: 'unreachable' | 'stalled') {
  return async (backend: StorageBackend) => {
    const server = serverOf(backend)
    server.outage = state
    return async () => {
      server.outage = null
    }
  }
}

for (const [what, conditionalWrites, listsMetadata] of [
  ['with conditional writes', true, false],
  ['without conditional writes, whose pages tell revisions', false, true],
] as const)
  storageConformance((name, run) => test(`of a store ${what}: ${name}`, withoutMoves(run)), {
    server: { unreachable: outage('unreachable'), stall: outage('stalled') },
    create: async () => open(await FlatServer.start({ listsMetadata }), conditionalWrites),
    reopen: async (closed) => open(serverOf(closed), conditionalWrites),
    destroy: (closed) => serverOf(closed).stop(),
  })

function withoutMoves(run: Parameters<ConformanceTest>[1]): Parameters<ConformanceTest>[1] {
  return (context) =>
    run(context).catch((error: unknown) => {
      if (!inspect(error).includes('cannot move')) throw error
      context.skip('A flat store cannot move.', async () => {})
    })
}
