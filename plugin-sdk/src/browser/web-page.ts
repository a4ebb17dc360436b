/** The person who looks at a page. */
export interface PageUser {
  /** A UUIDv4. It never changes. */
  readonly uuid: string
  readonly username: string
  /** The address of the wallet, `0x` and 40 hexadecimal digits, in the mixed case of EIP-55. */
  readonly wallet: string
  /** Whether this is the owner of the node. */
  readonly owner: boolean
}

/** A button beside a notice. */
export interface NoticeAction {
  readonly label: string
  /** Called once at most. The notice is gone then. */
  readonly run: () => void
}

/** The part of the node's pages that a page can use. */
export interface PageContext {
  /** The person who is signed in, as they were when the page was mounted. If somebody else signs in, the page is mounted again. */
  readonly user: PageUser
  /** The place within the page: for `/#/notes/2026/trip?view=list` it is `/2026/trip`, for `/#/notes` it is `/`. It is decoded. */
  readonly place: string
  /** The values behind `?` in the address: for `/#/notes/2026?view=list` it is `{ view: 'list' }`. They are decoded. */
  readonly query: Readonly<Record<string, string>>
  /** Calls the listener when the place or the query changes while the page is shown. */
  onPlace(listener: (place: string, query: Readonly<Record<string, string>>) => void): void
  /**
   * Opens a page: `/notes/2026` opens the page `notes` at the place `/2026`. Names in it, and the values of the query, need no encoding.
   * With `replace`, "Back" of the browser does not lead to the place before.
   */
  navigate(
    path: string,
    options?: { readonly query?: Readonly<Record<string, string>>; readonly replace?: boolean },
  ): void
  /** Names what the page shows, such as a folder, in the title of the window. `null`: the title of the page. */
  setTitle(title: string | null): void
  /**
   * Like the global `fetch`, with the session of the person, for paths of the node.
   *
   * If the session has ended, the person is asked to sign in again over the page, and the request is sent again. It resolves to
   * the answer 401 if the person does not. If the node does not answer, a GET waits until it does, and other requests reject with
   * a TypeError. If the plugin of the route is not running, it resolves to an answer 503 with a message for people. A body that is
   * a stream cannot be sent again. Once {@link signedOut} is aborted, requests reject with an
   * AbortError, so that none is sent with the session of somebody else.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Asks the person to sign in again, over the page, and resolves to whether they did. For requests without {@link fetch}. */
  signIn(): Promise<boolean>
  /** Tells that a request without {@link fetch} failed, and resolves when the node answers. */
  nodeAnswers(): Promise<void>
  /**
   * Updates what stands around the page: the navigation, the name of the person, the room that is used, and what needs the owner. For pages
   * that change the first two, or that change anything without {@link fetch}: after its requests, the others are updated anyway.
   */
  refresh(): Promise<void>
  /**
   * Shows a short text. An error stays until the person closes it. With an action, such as "Undo", the text stays for 30 seconds.
   *
   * @returns a function that removes the text, such as when its action is no longer possible
   */
  notice(text: string, kind?: 'done' | 'error', action?: NoticeAction): () => void
  /** Aborted when the person leaves the page. */
  readonly signal: AbortSignal
  /**
   * Aborted when the person signs out, or somebody else signs in. Work that goes on while another page is shown ends then. A page
   * with such work listens to `beforeunload` of the window: before a sign-out, as before the tab closes, the person is asked if a
   * listener prevents the default.
   */
  readonly signedOut: AbortSignal
}

/**
 * Shows a page in an element, which is empty at first.
 *
 * Strings never become HTML: the Content-Security-Policy of the node's pages refuses `innerHTML`, inline scripts and styles,
 * `eval` and other hosts.
 *
 * @returns a function that ends the page before the element is removed; or nothing
 */
export type MountPage = (element: HTMLElement, page: PageContext) => (() => void) | void
