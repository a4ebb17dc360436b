import t from 'tap'
import { useAiProvider } from './ai-provider.ts'
import { useExample } from './example.ts'
import { installPackages, packOutside } from './packages.ts'
import { useStorageBackend } from './storage-backend.ts'
import { followTutorial } from './tutorial.ts'

// Installing takes as long as the disk and the registry do.
const timeout = 120_000
t.setTimeout(3 * timeout)
// Side by side: an installation waits for the disk and the registry.
t.jobs = 2
const outside = await packOutside(t)

t.test('the tutorial of the SDK works as it is written', { timeout }, async (t) => {
  await followTutorial(t, outside)
})

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
