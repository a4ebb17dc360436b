import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, type Signal, signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import * as texts from '../../texts.ts'
import { OverviewPart } from './overview/overview-part.ts'
import { BackupPart } from './parts/backups.ts'
import { ContentsPart } from './parts/contents.ts'
import { DevicesPart } from './parts/devices.ts'
import { MessagesPart } from './parts/messages.ts'
import { ModelsPart } from './parts/models.ts'
import { OverlayPart } from './parts/overlay.ts'
import { PluginsPart } from './parts/plugins.ts'
import { StoragePart } from './parts/storage.ts'
import { UpdatePart } from './parts/update.ts'
import { UsersPart } from './parts/users.ts'

/** The properties of a part. */
interface PartProps {
  readonly page: PageContext
  /** Called when plugins were enabled or disabled, since parts come and go with them. */
  readonly onPluginsChanged: () => void
}

/** A part of this page. */
interface NodePart {
  /** The name in the address: `/#/node/users`. */
  readonly name: string
  readonly title: string
  readonly access: 'user' | 'owner'
  /** Routes. One of them is there while the part can be used; without any, it always can. */
  readonly routes: readonly string[]
  /** Whether the view has a heading of its own. */
  readonly hasHead?: boolean
  readonly view: FunctionComponent<PartProps>
}

const { overview, plugins, users, messages, models, storage, backups, update, overlay, devices, contents } =
  texts.node

const parts: readonly NodePart[] = [
  {
    name: 'overview',
    title: overview.title,
    access: 'owner',
    routes: [],
    hasHead: true,
    view: OverviewPart,
  },
  { name: 'users', title: users.title, access: 'owner', routes: ['/api/users'], view: UsersPart },
  {
    name: 'backups',
    title: backups.title,
    access: 'owner',
    routes: ['/api/backup/status'],
    view: BackupPart,
  },
  {
    name: 'storage',
    title: storage.title,
    access: 'owner',
    routes: ['/api/files/usage/all'],
    view: StoragePart,
  },
  { name: 'update', title: update.title, access: 'owner', routes: ['/api/update/status'], view: UpdatePart },
  {
    name: 'overlay',
    title: overlay.title,
    access: 'user',
    // Without the plugin, the owner still opens the node to the network at home.
    routes: ['/api/overlay/status', '/api/system/health'],
    view: OverlayPart,
  },
  { name: 'devices', title: devices.title, access: 'user', routes: ['/api/sync/devices'], view: DevicesPart },
  {
    name: 'contents',
    title: contents.title,
    access: 'user',
    routes: ['/api/previews/status', '/api/search/status'],
    view: ContentsPart,
  },
  {
    name: 'models',
    title: models.title,
    access: 'owner',
    routes: ['/api/ai/providers'],
    view: ModelsPart,
  },
  {
    name: 'messages',
    title: messages.title,
    access: 'owner',
    routes: ['/api/attention-webhook'],
    view: MessagesPart,
  },
  {
    name: 'plugins',
    title: plugins.title,
    access: 'owner',
    routes: ['/api/system/plugins'],
    view: PluginsPart,
  },
]

/** The parts that the person can use now. */
export class ShownParts {
  readonly list: Signal<readonly NodePart[]>
  /** Whether the node has told which parts there are. Until then, those are in the list that are always there. */
  readonly isComplete = signal(false)
  readonly #page: PageContext
  readonly #allowed: readonly NodePart[]

  constructor(page: PageContext) {
    this.#page = page
    this.#allowed = parts.filter(({ access }) => access === 'user' || page.user.owner)
    this.list = signal(this.#allowed.filter(({ routes }) => routes.length === 0))
  }

  /** Asks the node which routes are there. */
  async find(): Promise<void> {
    const { signal } = this.#page
    try {
      const answers = await Promise.all(
        this.#allowed.map(({ routes }) =>
          Promise.all(routes.map((route) => this.#page.fetch(route, { signal }))),
        ),
      )
      // A route of a plugin that is not up answers with 404 or 503. Other failures are told by the part.
      const isThere = ({ status }: Response) => ![403, 404, 503].includes(status)
      batch(() => {
        this.list.value = this.#allowed.filter(
          ({ routes }, i) => routes.length === 0 || answers[i]?.some(isThere),
        )
        this.isComplete.value = true
      })
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
