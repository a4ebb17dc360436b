export const usage = {
  title: 'Space used',
  taken: (bytes: string, entries: string) => `${bytes} in ${entries}`,
  free: (free: string, total: string) => `${free} of ${total} are free`,
  quota: (taken: string, bytes: string) => `${taken} of your ${bytes} are used`,
  mayStore: (bytes: string) => `may store ${bytes}`,
  counting: 'still counting',
  kept: (trash: string, versions: string) =>
    `The trash of all folders takes ${trash}. Former versions of files take ${versions}.`,
  keptOfUser: (trash: string, versions: string) => `${trash} in the trash, ${versions} in versions`,
  largest: 'Largest folders first',
  noFolders: 'There are no folders here.',
  openTrash: 'Open the trash',
  storages: 'Storage of the files',
  everything: 'All files',
  keptOfAll: (bytes: string) => `The trash and the former versions of all users take ${bytes} beside that.`,
  keptDays: 'How long they stay is in the configuration of the node: "storage.trash" and "storage.versions".',
  perUser: 'Who stores what',
  freeSome: 'Delete what nobody needs, empty the trash, or use a larger disk.',
  /** The parts of a bar. */
  legend: {
    folder: (bytes: string) => `${bytes} in this folder`,
    files: (bytes: string) => `${bytes} of files`,
    otherThings: (bytes: string) => `${bytes} of other files on the disk`,
    restOfQuota: (bytes: string) => `${bytes} of your other files, the trash and versions`,
    free: (bytes: string) => `${bytes} free`,
  },
}
