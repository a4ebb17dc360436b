import { storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import { test } from 'tap'
import { MemoryBackend } from '../src/memory-backend.ts'

const mebibyte = 1024 * 1024

storageConformance(test, {
  create: async () => new MemoryBackend({ maxBytes: 256 * mebibyte }),
  createSmall: async () => new MemoryBackend({ maxBytes: mebibyte }),
})
