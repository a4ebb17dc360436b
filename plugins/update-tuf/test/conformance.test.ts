import { readFile, writeFile } from 'node:fs/promises'
import { updateConformance } from '@nodekeep/plugin-sdk/conformance/update'
import { test } from 'tap'
import { createSubject } from './fixtures/tuf-subject.ts'

updateConformance(test, {
  async setUp() {
    const { repository, server, source, close } = await createSubject()
    let newest = ''
    return {
      source,
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
      close,
    }
  },
})
