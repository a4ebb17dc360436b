import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type PublishedRelease, updateConformance } from '@nodekeep/plugin-sdk/conformance/update'
import { test } from 'tap'
import { makeKey } from './fixtures/signing.ts'
import { createSubject } from './fixtures/tuf-subject.ts'

updateConformance(test, {
  async setUp() {
    const { repository, server, source, open, close } = await createSubject()
    let newest = ''
    const publish = async ({ version, notes, files }: PublishedRelease) => {
      newest = version
      await repository.publish(version, { notes, files })
    }
    return {
      source,
      publish,
      async forge(release) {
        const { keys } = repository
        const other = () => [makeKey()]
        repository.keys = {
          ...keys,
          timestamp: other(),
          snapshot: other(),
          targets: other(),
          releases: other(),
        }
        await publish(release)
        repository.keys = keys
      },
      async tamper() {
        const file = repository.fileOf(repository.archivePath(newest))
        const content = await readFile(file)
        content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1
        await writeFile(file, content)
      },
      replay: () => repository.goBack(),
      reopen: async () => open(),
      server: {
        async stall() {
          const { promise: asked, resolve } = Promise.withResolvers<void>()
          server.behave = () => {
            resolve()
            return true
          }
          return { asked }
        },
        unreachable: () => server.close(),
        async flood(part, bytes) {
          server.behave = (path, response) => {
            if (!path.endsWith(part === 'list' ? 'index.json' : '.tar.gz')) return false
            async function* answer() {
              yield* createReadStream(join(repository.folder, path))
              yield* bytes()
            }
            // The source leaves.
            pipeline(answer, response).catch(() => {})
            return true
          }
        },
        async redirect(location) {
          server.behave = (_path, response) => {
            response.writeHead(302, { location }).end()
            return true
          }
        },
      },
      close,
    }
  },
})
