import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import { storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import t from 'tap'
import { openLocalBackend } from '../src/open-local-backend.ts'

const roots = new WeakMap<StorageBackend, string>()

storageConformance((name, run) => t.test(name, run), {
  server: null,
  create: async () => open(await mkdtemp(join(tmpdir(), 'storage-local-'))),
  destroy: (closed) => rm(rootOf(closed), { recursive: true, force: true }),
  reopen: (closed) => open(rootOf(closed)),
  otherProgram: (backend) => ({
    async write(path, text) {
      await mkdir(dirname(join(rootOf(backend), path)), { recursive: true })
      await writeFile(join(rootOf(backend), path), text)
    },
    remove: (path) => rm(join(rootOf(backend), path), { recursive: true }),
  }),
})

async function open(root: string): Promise<StorageBackend> {
  const backend = await openLocalBackend({ root })
  roots.set(backend, root)
  return backend
}

function rootOf(backend: StorageBackend): string {
  const root = roots.get(backend)
  if (root === undefined) throw new Error('The suite asks for a backend that it was not given.')
  return root
}
