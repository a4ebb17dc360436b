import { storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import { test } from 'tap'
import { createMemoryBackend } from '../src/memory-driver.ts'

const mebibyte = 1024 * 1024

storageConformance(test, {
  server: null,
  bytesInMemory: null,
  create: async () => createMemoryBackend({ maxBytes: 256 * mebibyte }),
  createSmall: async () => createMemoryBackend({ maxBytes: mebibyte }),
})
