import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createStorageBackend, type StorageBackend } from '@nodekeep/plugin-sdk'
import { storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import { openDatabase, sqliteDriver } from '../src/sqlite-driver.ts'

const files = new WeakMap<StorageBackend, string>()

function open(file: string, maxBytes: number): StorageBackend {
  const backend = createStorageBackend(sqliteDriver(openDatabase(file, maxBytes)))
  files.set(backend, file)
  return backend
}

const newFile = async () => join(await mkdtemp(join(tmpdir(), 'storage-sqlite-')), 'files.sqlite')

storageConformance(test, {
  server: null,
  create: async () => open(await newFile(), 2 ** 30),
  createSmall: async () => open(await newFile(), 2 ** 20),
  reopen: async (closed) => open(files.get(closed) ?? '', 2 ** 30),
  destroy: (closed) => rm(dirname(files.get(closed) ?? ''), { recursive: true, force: true }),
})
