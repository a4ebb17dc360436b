import type { StorageBackend } from '@nodekeep/plugin-sdk'
import { storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import t from 'tap'
import { newFolder, openBackend, removeFolder } from '../fixtures/ipfs-folder.ts'

const folders = new WeakMap<StorageBackend, string>()

storageConformance((name, run) => t.test(name, run), {
  server: null,
  // Rows of the index that are read at once: entries.ts.
  pageEntries: 500,
  create: async () => open(await newFolder()),
  destroy: (closed) => removeFolder(folderOf(closed)),
  reopen: async (closed) => open(folderOf(closed)),
})

function open(folder: string): StorageBackend {
  const { backend } = openBackend(folder)
  folders.set(backend, folder)
  return backend
}

function folderOf(backend: StorageBackend): string {
  return folders.get(backend) ?? ''
}
