import t from 'tap'
import { useAiProvider } from './ai-provider.ts'
import { useExample } from './example.ts'
import { installPackages, packOutside } from './packages.ts'
import { useStorageBackend } from './storage-backend.ts'

// Installing takes as long as the disk and the registry do.
const timeout = 120_000
t.setTimeout(3 * timeout)
const outside = await packOutside(t)

t.test('plugins by others are installed beside a node', { timeout: 2 * timeout }, async (t) => {
  const installed = await installPackages(outside, [
    '@nodekeep/kernel',
    '@nodekeep/plugin-sdk',
    '@nodekeep/files',
    '@nodekeep/ai',
    'nodekeep-hello-plugin',
    'nodekeep-storage-sqlite',
    'nodekeep-ai-acme',
  ])
  await t.test('the example is tested, compiled and used outside the repository', { timeout }, async (t) => {
    await useExample(t, installed)
  })
  await t.test('a storage backend passes the suite and keeps the files of a node', { timeout }, async (t) => {
    await useStorageBackend(t, installed)
  })
  await t.test('an AI provider passes the suite and replies to users', { timeout }, async (t) => {
    await useAiProvider(t, installed)
  })
})
