import { join } from 'node:path'
import {
  definePlugin,
  FileChanged,
  FileIndex,
  Files,
  HealthChecks,
  UserData,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { Databases } from './database/databases.ts'
import { searchHealth } from './health.ts'
import { BackgroundExtraction } from './indexing/background.ts'
import { Extractor } from './indexing/extractor.ts'
import { Follower } from './indexing/follower.ts'
import { Search } from './querying/search.ts'
import { Snippets } from './querying/snippets.ts'
import { searchRoutes } from './routes.ts'
import { Status } from './status.ts'

/** Milliseconds that the extraction of a file may take in the background. */
const backgroundMs = 30_000

/** Milliseconds that the extraction of a snippet may take. */
const snippetMs = 2000

/** The plugin `search`: finds files by their names and by the words in them. */
export default definePlugin({
  id: 'search',
  description: 'Finds files by their names and by the words in them.',
  config: configuration,
  requires: { files: Files, index: FileIndex, users: UserDirectory },
  contributes: { health: HealthChecks, userData: UserData },
  setup({ id, config, files, index, users, health, userData, dataDir, events, routes, log, ...context }) {
    const { signal, onServing, onStop } = context
    // Neither backups nor updates copy what is in a folder of this folder: it can be made again.
    const folder = join(dataDir, 'not-in-backups', 'users')
    const databases = new Databases({ folder, maxFileSize: config.maxFileSize }, log)
    onStop(() => databases.close())
    // A person does not wait for a large file of the background.
    const extractor = new Extractor({ timeoutMs: backgroundMs, log })
    onStop(() => extractor.stop())
    const forPeople = new Extractor({ timeoutMs: snippetMs, log })
    onStop(() => forPeople.stop())

    const snippets = new Snippets({ files, databases, extractor: forPeople })
    const search = new Search({ index, databases, snippets })
    const untilQuiet = () => search.untilQuiet()
    const background = new BackgroundExtraction({
      files,
      index,
      databases,
      folder: dataDir,
      extractor,
      untilQuiet,
      log,
      signal,
    })
    onStop(() => background.stop())
    const onLearned = (userUuid: string) => background.notice(userUuid)
    const follower = new Follower({ index, users, databases, onLearned, log, signal })
    onStop(() => follower.stop())
    onServing(() => {
      events.on(FileChanged, ({ userUuid }) => {
        background.noteChange()
        follower.notice(userUuid)
      })
      follower.start()
    })

    health.add(id, searchHealth(follower, background))
    userData.add(id, { erase: (userUuid) => databases.erase(userUuid) })
    const status = new Status({ index, users, databases, follower })
    routes((app) => searchRoutes(app, { search, status, follower }))
  },
})
