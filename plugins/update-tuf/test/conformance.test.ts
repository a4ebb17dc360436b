import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { updateConformance } from '@nodekeep/plugin-sdk/conformance/update'
import { test } from 'tap'
import { TufSource } from '../src/tuf-source.ts'
import { serve } from './fixtures/static-server.ts'
import { TufRepository } from './fixtures/tuf-repository.ts'

updateConformance(test, {
  async setUp() {
    const repository = await TufRepository.create()
    const server = await serve(repository.folder)
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-tuf-'))
    let newest = ''
    return {
      source: new TufSource({
        url: server.url,
        root: await pinned(repository, folder),
        folder,
        userAgent: 'test',
      }),
      async publish({ version, notes, files }) {
        newest = version
        await repository.publish(version, { notes, files })
      },
      async tamper() {
        const file = repository.fileOf(repository.archivePath(newest))
        const content = await readFile(file)
        content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1
        await writeFile(file, content)
      },
      replay: () => repository.goBack(),
      async stall() {
        const { promise: asked, resolve } = Promise.withResolvers<void>()
        server.behave = () => {
          resolve()
          return true
        }
        return { asked }
      },
      unreachable: () => server.close(),
      async close() {
        await server.close()
        await repository.remove()
        await rm(folder, { recursive: true })
      },
    }
  },
})

/** Releases come with the root of their repository. */
async function pinned({ rootFile }: TufRepository, folder: string): Promise<string> {
  const file = join(folder, 'trusted-root.json')
  await writeFile(file, await readFile(rootFile))
  return file
}
