export const photos = {
  title: 'Photos',
  emptyTitle: 'Your pictures appear here',
  emptyText: (folder: string) =>
    `All pictures among your files, by the month in which they were taken. Those that you upload here go into the folder "${folder}".`,
  /** The name of the folder for the pictures that are uploaded on this page. */
  folder: 'Photos',
  uploadTo: (folder: string) => `Upload to "${folder}"`,
  uploaded: (entry: string, folder: string) => `Uploaded ${entry} into the folder "${folder}".`,
  reading: 'The node still reads your pictures. More may come.',
  scale: 'Date',
  selected: (photos: number) => `${photos.toLocaleString()} selected`,
  selectNone: 'Select none',
  inFolder: 'Show in folder',
  taken: 'Taken',
  size: 'Picture',
  camera: 'Camera',
  where: 'Place',
  pixels: (width: number, height: number) => `${width.toLocaleString()} × ${height.toLocaleString()} pixels`,
  place: (latitude: number, longitude: number) => `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`,
}
