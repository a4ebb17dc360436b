import { effect, signal } from '@preact/signals'
import { byName, columns, type Order } from './entry-order.ts'

/** The name in the storage of the browser. */
const storedName = 'files-view'

/** A window without room for details beside the entries, as in `page.css`. */
export const withoutRoom = '(max-width: 66rem)'

/** The ways in which a folder can be shown. */
type Layout = 'list' | 'grid'

interface Stored {
  readonly layout: Layout
  readonly order: Order
  readonly showsDetails: boolean
}

/** How a person looks at folders. This browser keeps it. */
export class ViewSettings {
  readonly layout = signal<Layout>('list')
  readonly order = signal<Order>(byName)
  /** Whether the details of what is selected stand beside the entries. */
  readonly showsDetails = signal(false)

  /** @param ended ends the storing */
  constructor(ended: AbortSignal) {
    const { layout, order, showsDetails } = read()
    if (layout === 'grid') this.layout.value = layout
    if (order && columns.includes(order.by)) {
      this.order.value = { by: order.by, isDescending: order.isDescending === true }
    }
    // Over the entries, they are shown when the person asks for them only.
    this.showsDetails.value = showsDetails === true && !matchMedia(withoutRoom).matches
    const end = effect(() =>
      write({
        layout: this.layout.value,
        order: this.order.value,
        showsDetails: this.showsDetails.value,
      }),
    )
    ended.addEventListener('abort', end)
  }
}

/** Returns what the browser has kept, of whatever form. */
function read(): { readonly [name in keyof Stored]?: Stored[name] | null } {
  try {
    return JSON.parse(localStorage.getItem(storedName) ?? '{}') ?? {}
  } catch {
    return {}
  }
}

function write(stored: Stored): void {
  try {
    localStorage.setItem(storedName, JSON.stringify(stored))
  } catch {
    // The person may have switched off the storage. Then it holds until the page is left.
  }
}
