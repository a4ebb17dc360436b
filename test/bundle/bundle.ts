/** `npm run bundle`: writes the types of answers into the SDK, and the pages for browsers and for guests of links, and the client of file sync into the folders `bundle` of their plugins. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { generateNodeAnswers, nodeAnswersFile } from './node-answers.ts'
import { bundlePages, pagesFolder } from './pages.ts'
import { bundleSharePages, sharePagesFolder } from './share-pages.ts'
import { bundleSyncClient, syncClientFolder } from './sync-client.ts'

/** Makes the files that are committed although other files determine them. */
export async function writeBundles(): Promise<void> {
  await writeFile(nodeAnswersFile, await generateNodeAnswers())
  const bundles = [
    [pagesFolder, await bundlePages()],
    [sharePagesFolder, await bundleSharePages()],
    [syncClientFolder, await bundleSyncClient()],
  ] as const
  for (const [folder, files] of bundles) {
    await rm(folder, { recursive: true, force: true })
    for (const [path, content] of files) {
      const file = join(folder, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    }
  }
}

if (import.meta.main) await writeBundles()
