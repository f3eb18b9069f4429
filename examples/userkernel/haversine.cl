// The distance in kilometres between two points on the Earth, given in degrees, along a great circle: the haversine formula
// (Sinnott, Sky & Telescope 68, 1984), which is exact for short distances too. The same as haversine in haversine.go.
FN f64 haversine_square(f64 x) { return x * x; }

FN f64 haversine(f64 lat1, f64 lon1, f64 lat2, f64 lon2) {
  f64 degree = 0.017453292519943295;
  f64 h = haversine_square(sin((lat2 - lat1) * degree / 2)) +
          cos(lat1 * degree) * cos(lat2 * degree) * haversine_square(sin((lon2 - lon1) * degree / 2));
  return 2 * 6371.0088 * asin(sqrt(MIN(h, 1.0)));
}
